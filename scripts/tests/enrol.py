# SPDX-License-Identifier: GPL-2.0
"""Puts a certificate into UEFI's db, from which the kernel takes keys that it trusts: enrol.py CERT

The machine has to be in setup mode, in which nobody checks the signature of a change. The structures are those of the
UEFI specification: EFI_VARIABLE_AUTHENTICATION_2, and EFI_SIGNATURE_LIST with one X.509 certificate.
"""

import os
import struct
import sys
import uuid
from pathlib import Path

DB = Path("/sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f")
X509 = uuid.UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072").bytes_le
PKCS7 = uuid.UUID("4aafd29d-68df-49ee-8aa9-347d375665a7").bytes_le
OWNER = uuid.uuid4().bytes_le
# Non-volatile, of boot and run time, with a time that the signature has.
ATTRIBUTES = 0x27


def main():
    """Writes the variable at once, as efivarfs wants it."""
    cert = Path(sys.argv[1]).read_bytes()
    time = struct.pack("<HBBBBBBIhBB", 2026, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    # WIN_CERTIFICATE_UEFI_GUID without a certificate: 24 bytes, revision 2.0, of type WIN_CERT_TYPE_EFI_GUID.
    signature = struct.pack("<IHH", 24, 0x0200, 0x0EF1) + PKCS7
    size = len(OWNER) + len(cert)
    certificates = X509 + struct.pack("<III", 28 + size, 0, size) + OWNER + cert
    with open(DB, "wb", buffering=0) as variable:
        os.write(variable.fileno(), struct.pack("<I", ATTRIBUTES) + time + signature + certificates)


if __name__ == "__main__":
    main()
