# SPDX-License-Identifier: GPL-2.0
"""Cases of requests that fail, as traces written by hand: each returns one, with verdict, hop and device."""

from traces import CHAIN, PATH, RETURN, Writer


def with_traffic(writer):
    """Other SMPs go all the way, so that the trace shows the links."""
    writer.all(tid=0x77)
    return writer


def lost_going_out():
    writer = with_traffic(Writer())
    writer.send()
    writer.out(1, 2)
    return writer, ("never-arrived", 3, "sw1")


def dropped_by_a_switch():
    writer = Writer()
    writer.send(path=(1, 5, 9, 6))
    writer.out(1, 1, path=(1, 5, 9, 6))
    writer.discard("sw1", "request", 4, "2,2/4", "C14-9:2", "no-such-port", path=(1, 5, 9, 6))
    return writer, ("dropped", 2, "sw1")


def refused_by_the_sender():
    writer = Writer()
    writer.discard("hca0", "request", 0, "0,0/1", "C14-9:1", "no-such-port", kind="send", path=(2,))
    return writer, ("never-left", 0, "hca0")


def hop_count_64():
    writer = Writer()
    writer.discard("hca0", "request", 0, "0,0/64", "C14-6", "hop-count", kind="send", path=())
    return writer, ("never-left", 0, "hca0")


def not_posted_by_the_sender():
    writer = Writer()
    writer.send()
    writer.event("discard", "hca0", "request", 0, 0, "0,0/4", "discard", "C14-9:1", reason="send-failed")
    return writer, ("never-left", 0, "hca0")


def not_posted_in_transit():
    writer = Writer()
    writer.send()
    writer.out(1, 1)
    writer.event("discard", "sw0", "request", 2, 0, "1,1/4", "discard", "C14-9:2", reason="post-failed")
    return writer, ("dropped", 1, "sw0")


def through_a_ca():
    path = (*PATH, 1)
    writer = Writer()
    writer.send(path=path)
    writer.out(1, 3, path=path)
    writer.discard("hca1", "request", 1, "4,4/5", "C14-9:2", "ca-in-transit", path=path)
    return writer, ("dropped", 4, "hca1")


def another_port_by_its_own_word():
    writer = Writer()
    writer.send()
    writer.event("recv", "sw0", "request", 2, 5, "1,2/4", "forward", "C14-9:2")
    writer.event("forward", "sw0", "request", 2, 6, "1,2/4", "forward", "C14-9:2")
    return writer, ("misrouted", 2, "sw0")


def another_port_by_where_it_came():
    # sw1 has to send by 8, to sw2:3. It comes to hca9:1, which other SMPs reach by port 7 of sw1.
    beside = (*CHAIN[:2], ("sw1", 4, 7), ("hca9", 1, 0))
    writer = with_traffic(Writer())
    writer.send(path=(1, 5, 7), chain=beside, tid=0x78)
    writer.out(1, 3, path=(1, 5, 7), chain=beside, tid=0x78)
    writer.reply(path=(2, 4, 1), chain=beside, tid=0x78)
    writer.back(2, 0, path=(2, 4, 1), chain=beside, tid=0x78)
    writer.send()
    writer.out(1, 2)
    writer.discard("hca9", "request", 1, "3,3/4", "C14-9:2", "ca-in-transit")
    return writer, ("misrouted", 3, "sw1")


def an_error():
    writer = Writer()
    writer.send(attr=0x15, mod=5)
    writer.out(attr=0x15, mod=5)
    writer.reply(attr=0x15, mod=5, status=0x1C)
    writer.back(attr=0x15, mod=5, status=0x1C)
    return writer, ("error-status", 4, "hca1")


def silence():
    writer = Writer()
    writer.send()
    writer.out()
    return writer, ("silent", 4, "hca1")


def nobody():
    writer = Writer()
    writer.send(attr=0x20)
    writer.out(attr=0x20)
    writer.event("discard", "hca1", "request", 1, 0, "4,4/4", "discard", "C14-9:3", reason="no-listener", attr=0x20)
    return writer, ("nobody-listens", 4, "hca1")


def no_subnet_manager():
    writer = Writer()
    writer.send(attr=0x20)
    writer.out(attr=0x20)
    return writer, ("nobody-listens", 4, "hca1")


def lost_coming_back():
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 2)
    return writer, ("lost-on-return", 2, "sw1")


def answer_dropped():
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply()
    writer.back(3, 3, path=(2, 9, 3, 1))
    writer.discard("sw1", "response", 8, "3,3/4", "C14-13:2", "no-such-port", path=(2, 9, 3, 1))
    return writer, ("lost-on-return", 2, "sw1")


def answer_led_astray():
    # Return Path element 2 has become 8: sw1 sends the answer back to sw2 instead of on to sw0.
    path = (2, 8, 3, 1)
    writer = Writer()
    writer.send()
    writer.out()
    writer.reply(path=path)
    writer.back(3, 3, path=path)
    for kind in ("recv", "forward"):
        writer.event(kind, "sw1", "response", 8, 8, "3,2/4", "forward", "C14-13:2", path=path)
    writer.discard("sw2", "response", 3, "2,2/4", "C14-13:2", "no-such-port", path=path)
    return writer, ("lost-on-return", 2, "sw1")


def nobody_waits():
    writer = Writer()
    writer.all()
    writer.event("discard", "hca0", "response", 1, 0, "1,1/4", "discard", "C14-13:3", reason="no-listener", path=RETURN)
    return writer, ("late", 0, "hca0")


def a_switch_in_the_place_of_the_target():
    # M4: the directed part ends at sw2, which should send on by LID 7.
    path, back = (1, 5, 8), (2, 4, 3)
    chain = (*CHAIN[:3], ("sw2", 3, 0))
    writer = Writer()
    writer.send(path=path, dlid=7, chain=chain)
    writer.out(1, 2, path=path, dlid=7, chain=chain)
    writer.event("recv", "sw2", "request", 3, 0, "3,4/3", "local", "C14-9:3", path=path, dlid=7)
    writer.event("reply", "sw2", "response", 3, 3, "4,3/3", "forward", "C14-13:1", path=back, dlid=7)
    writer.back(2, 0, path=back, dlid=7, chain=chain)
    return writer, ("wrong-node", 3, "sw2")


def no_way_by_lid():
    path = (1, 5, 8)
    writer = with_traffic(Writer())
    writer.send(path=path, dlid=7)
    writer.out(1, 2, path=path, dlid=7)
    writer.event("recv", "sw2", "request", 3, 0, "3,4/3", "route", "C14-9:3", path=path, dlid=7, lid=7)
    writer.event("forward", "sw2", "request", 3, 0, "3,4/3", "route", "C14-9:3", path=path, dlid=7, lid=7)
    return writer, ("unknown", 4, "sw2")


def an_answer_by_lid():
    """Who asks is by LID at sw0, from where it goes by port 5. Its answer leaves sw0 by LID 1, and no more is seen of it."""
    there, back = {"path": (5,), "slid": 1}, {"path": (4,), "slid": 1}
    writer = Writer()
    for kind in ("recv", "forward"):
        writer.event(kind, "sw0", "request", 2, 5, "0,1/1", "forward", "C14-9:1", **there)
    writer.event("recv", "sw1", "request", 4, 0, "1,2/1", "local", "C14-9:3", **there)
    writer.event("reply", "sw1", "response", 4, 4, "2,1/1", "forward", "C14-13:1", **back)
    for kind in ("recv", "forward"):
        writer.event(kind, "sw0", "response", 5, 0, "1,0/1", "route", "C14-13:3", lid=1, **back)
    return writer, ("unknown", 0, "sw0")


def only_the_own_end():
    writer = Writer()
    writer.send()
    return writer, ("unknown", 1, "hca0")


CASES = [lost_going_out, dropped_by_a_switch, refused_by_the_sender, hop_count_64, not_posted_by_the_sender,
         not_posted_in_transit, through_a_ca, another_port_by_its_own_word, another_port_by_where_it_came, an_error,
         silence, nobody, no_subnet_manager, lost_coming_back, answer_dropped, answer_led_astray,
         nobody_waits,
         a_switch_in_the_place_of_the_target, no_way_by_lid, an_answer_by_lid, only_the_own_end]
