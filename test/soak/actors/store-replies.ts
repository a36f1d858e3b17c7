import type { Actor } from '../actor.ts';
import { ask } from '../client.ts';
import { judge } from '../judge.ts';
import { mutate } from '../mutate.ts';

const REPLIES = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':12\r\n',
  '$5\r\nhello\r\n',
  '$-1\r\n',
  '*2\r\n$1\r\na\r\n:1\r\n',
  '_\r\n',
  '%1\r\n+a\r\n:1\r\n',
].concat(
  '-LOADING wait\r\n',
  '-WRONGTYPE x\r\n',
  '-OOM x\r\n',
  '-READONLY x\r\n',
  '$0\r\n\r\n',
  '*-1\r\n',
  '>2\r\n+a\r\n+b\r\n',
);

/** The key carries the reply, and a request line has room for this many bytes. */
const MAX_REPLY = 2_500;

/** A store whose replies are nearly valid. */
export const storeReplies: Actor = {
  name: 'store-replies',
  lanes: 2,
  async act(turn) {
    const { random, stage } = turn;
    const reply = random.chance(0.1)
      ? Buffer.from(random.pick(REPLIES))
      : mutate(random.pick(REPLIES), random);
    const key = random.chance(0.02) ? 'x' : reply.subarray(0, MAX_REPLY).toString('base64url');
    const got = await ask(stage.sites.port, `/damaged?k=${key}`);
    judge(turn, 'GET /damaged', { got, wanted: { status: [200, 400, 414, 500, 502, 503, 504] } });
  },
};
