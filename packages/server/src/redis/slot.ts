const SLOTS = 16_384;
const CRC_POLYNOMIAL = 0x1021;

/** The cluster slot of a key or channel: that of its hash tag, what is between its first `{` and the next `}`. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  const tag = open !== -1 && close > open + 1 ? key.slice(open + 1, close) : key;
  return crc16(Buffer.from(tag)) % SLOTS;
}

/** CRC-16/XMODEM, as Redis Cluster has it. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? CRC_POLYNOMIAL : 0)) & 0xffff;
  }
  return crc;
}
