import { redactQuery } from '../log/index.ts';
import type { Exchange, LogStep } from '../http/index.ts';
import { keepRequestLine } from '../zone/index.ts';
import type { Ring } from '../zone/index.ts';

/** What one worker shows: reading more is beyond people, and writing more would cost those who only want an answer. */
const LINES_PER_SECOND = 20;

/** Shows requests in the log tail: `method milliseconds bytes host uri`. What comes beyond the limit is counted instead. */
export function compileRequestTail(tail: Ring): LogStep {
  let second = 0;
  let shown = 0;
  let skipped = 0;
  return (x: Exchange) => {
    const nowMs = Date.now();
    const now = Math.floor(nowMs / 1000);
    if (now !== second) {
      if (skipped > 0) keepRequestLine(tail, 0, String(skipped));
      [second, shown, skipped] = [now, 0, 0];
    }
    if (++shown > LINES_PER_SECOND) return void skipped++;
    const { requestMethod, startedMs, bodyBytesSent, host, requestUri, status } = x;
    const uri = redactQuery(requestUri);
    keepRequestLine(
      tail,
      status,
      `${requestMethod} ${nowMs - startedMs} ${bodyBytesSent} ${host || '-'} ${uri}`,
    );
  };
}
