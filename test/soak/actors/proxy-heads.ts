import type { Actor } from '../actor.ts';
import type { Random } from '../random.ts';
import { exchange, inPieces } from '../exchange.ts';
import { judgeMutant } from '../judge.ts';
import { mutate } from '../mutate.ts';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const REQUEST = Buffer.from('GET /address HTTP/1.1\r\nHost: soak.example\r\nConnection: close\r\n\r\n');

/** A header of version 2: from 192.0.2.7:4000 to 192.0.2.8:443, and fields behind the addresses. */
function versionTwo(fields: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from([192, 0, 2, 7, 192, 0, 2, 8, 0x0f, 0xa0, 0x01, 0xbb]), fields]);
  return Buffer.concat([SIGNATURE, Buffer.from([0x21, 0x11, body.length >> 8, body.length & 255]), body]);
}

const HEADS = [
  Buffer.from('PROXY TCP4 192.0.2.7 192.0.2.8 4000 443\r\n'),
  Buffer.from('PROXY TCP6 2001:db8::7 2001:db8::8 4000 443\r\n'),
  Buffer.from('PROXY UNKNOWN\r\n'),
  versionTwo(Buffer.alloc(0)),
  versionTwo(Buffer.from([0x01, 0, 2, 0x68, 0x32, 0x20, 0, 5, 1, 0, 0, 0, 0])),
  Buffer.concat([SIGNATURE, Buffer.from([0x20, 0x00, 0, 0])]),
];

/** Headers of the PROXY protocol: valid ones, whose address must show, and changed ones. */
export const proxyHeads: Actor = {
  name: 'proxy-heads',
  lanes: 2,
  async act(turn) {
    const { random, stage } = turn;
    const head = random.pick(HEADS);
    const isHonest = random.chance(0.2);
    const bytes = Buffer.concat([isHonest ? head : mutate(head, random), REQUEST]);
    const pieces = inPieces(bytes, cutsOf(bytes, random));
    const seen = await exchange({ port: stage.sites.proxyPort, pieces, patienceMs: isHonest ? 10_000 : 150 });
    judgeMutant(turn, bytes, { seen });
    const isExcused = stage.disturbances.excuse(['process', 'worker'], seen.startedMs);
    if (
      isHonest &&
      !isExcused &&
      !/^HTTP\/1\.1 200 [^]*\r\n\r\n(192\.0\.2\.7|2001:db8::7|127\.0\.0\.1)$/.test(seen.text)
    )
      turn.violation('an address of the PROXY protocol is not taken', seen.text);
  },
};

function cutsOf(bytes: Buffer, random: Random): number[] {
  return random.chance(0.5) ? [random.below(bytes.length), random.below(bytes.length), random.below(20)] : [];
}
