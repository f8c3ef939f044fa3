/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PLANT_FAULTS_H
#define _PLANT_FAULTS_H

int plant_shift(int by);
int plant_index(int at);
void plant_object(void);
void plant_lockup(void);
void plant_hang(void);
int plant_side_by_side(void (*step)(void));

#endif /* _PLANT_FAULTS_H */
