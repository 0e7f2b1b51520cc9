"""Files of the hub by the Xet protocol: many connections, each byte in its order, from a process that can be killed."""
