# SPDX-License-Identifier: GPL-2.0
"""The names of numbers in an SMP, and what statuses and reasons mean."""

from .event import PERMISSIVE

METHODS = {0x01: "Get", 0x02: "Set", 0x03: "Send", 0x05: "Trap", 0x06: "Report", 0x07: "TrapRepress", 0x81: "GetResp"}
# Methods that are not answered, or whose answer is a request of its own.
UNANSWERED = (0x03, 0x05, 0x06, 0x07)
ATTRIBUTES = {0x02: "Notice", 0x10: "NodeDescription", 0x11: "NodeInfo", 0x12: "SwitchInfo", 0x14: "GUIDInfo",
              0x15: "PortInfo", 0x16: "P_KeyTable", 0x17: "SLtoVLMappingTable", 0x18: "VLArbitrationTable",
              0x19: "LinearForwardingTable", 0x1A: "RandomForwardingTable", 0x1B: "MulticastForwardingTable",
              0x20: "SMInfo", 0x30: "VendorDiag", 0x31: "LedInfo"}
# What only a subnet manager answers.
SM_ATTRIBUTES = (0x20,)
PORT_INFO = 0x15

# Bits 2 to 4 of a MAD's status.
CODES = {1: "the base or class version is not supported", 2: "the method is not supported",
         3: "the attribute is not supported, or not with this method",
         7: "the attribute or its modifier has a value that is not valid"}
UNSUPPORTED = 3

# Why an SMP is discarded: what it means. The names are those of the events.
REASONS = {
    "hop-count": "Hop Count is above 63",
    "hop-pointer": "Hop Pointer fits no step of the route",
    "no-such-port": "the path leaves by a port that this node does not have",
    "port-zero": "the path leaves by port 0, which is the node itself",
    "ca-in-transit": "the path goes on behind a CA, which passes nothing on",
    "not-from-wire": "the sender did not start the path: Hop Pointer is 0, and DrSLID is permissive",
    "wrong-port": "the path leaves by another port than that of the agent which sends",
    "nowhere-to-go": "the request had no hop and both LIDs permissive: its answer has no way",
    "not-returning": "the SMA of this node has answered without the D bit",
    "in-transition": "the livepatch was just being enabled or disabled",
    "no-sma": "the driver of this node has no SMA in the kernel",
    "not-by-lid": "its directed part is over before it has left, and ib_mad cannot send such a one by LID",
    "no-agent": "the module has no agent on this port to send with",
    "queue-full": "all send slots of the port were in use, and its queue was full",
    "no-memory": "the kernel had no memory for it",
    "post-failed": "the device refused the work request, or the address",
    "not-asked": "it is an answer, and no agent here has sent a request with this TID",
    "send-failed": "the device took the work request, and completed it with an error",
    "no-listener": "no agent on this port takes it",
    "too-short": "it came in shorter than such an SMP is",
}
# Those of the rules; the rules would let the others pass.
BY_RULE = ("hop-count", "hop-pointer", "no-such-port", "port-zero", "ca-in-transit", "not-from-wire", "wrong-port",
           "nowhere-to-go", "not-returning")
# Of these, the node was reached, and nobody was there.
NOBODY = ("no-sma", "no-listener")


def method(number):
    """The name of a method."""
    return METHODS.get(number, f"method {number:#04x}")


def attribute(number):
    """The name of an attribute."""
    return ATTRIBUTES.get(number, f"attribute {number:#06x}")


def status(number):
    """What the status of an answer means, without the D bit."""
    meanings = []
    if number & 0x01:
        meanings.append("busy, to be asked again later")
    if number & 0x02:
        meanings.append("another port is to be asked instead")
    if code := number >> 2 & 7:
        meanings.append(CODES.get(code, f"code {code}, which is reserved"))
    if number >> 8 & 0x7F:
        meanings.append(f"class-specific {number >> 8 & 0x7F:#04x}")
    return ", and ".join(meanings) or ("no error" if number == 0 else "bits that are reserved")


def last_hop(request):
    """The hop at which a request ends: behind the last of its directed part if a LID-routed one follows."""
    return request.count + (request.dlid != PERMISSIVE)


def element_at_fault(event):
    """Which element of the path a discard is about, in words; nothing if it is about none."""
    if event.reason not in ("no-such-port", "port-zero", "wrong-port", "ca-in-transit"):
        return ""
    number = event.before + 1 if not event.returning else event.before - 1
    if not 1 <= number <= len(event.path):
        return ""
    kind = "Return" if event.returning else "Initial"
    return f"; {kind} Path element {number} is {event.path[number - 1]}"


def path(elements):
    """A path as the diagnostic tools write it."""
    return ",".join(map(str, (0, *elements)))


def lids(slid, dlid):
    """The LIDs of a route that is not directed from end to end."""
    return "".join(f", {name} {lid:#06x}" for name, lid in (("DrSLID", slid), ("DrDLID", dlid)) if lid != PERMISSIVE)
