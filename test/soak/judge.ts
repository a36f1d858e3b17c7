import type { Part, Turn } from './actor.ts';
import { type Got, NO_RESPONSE } from './client.ts';
import type { Exchanged } from './exchange.ts';

export interface ExpectedResponse {
  readonly status: number | readonly number[];
  readonly body?: string | RegExp;
  /** The part that stands behind the location: while it is disturbed, 502, 503 and 504 are allowed too. */
  readonly behind?: readonly Part[];
}

/** Counts a response that is expected or excused; any other is a violation. True when it is the expected one. */
export function judge(
  turn: Turn,
  line: string,
  { got, wanted }: { got: Got; wanted: ExpectedResponse },
): boolean {
  const { status, body, failure } = got;
  const statuses = typeof wanted.status === 'number' ? [wanted.status] : wanted.status;
  if (statuses.includes(status) && matches(body, wanted.body)) {
    turn.count(String(status));
    return true;
  }
  const { disturbances } = turn.stage;
  const behind = [502, 503, 504].includes(status) && disturbances.excuse(wanted.behind ?? [], got.startedMs);
  // No request waits for ever, whatever happens.
  const isCut = status === 0 && failure !== NO_RESPONSE;
  if (behind || (isCut && disturbances.excuse(['process', 'worker'], got.startedMs))) {
    turn.count(`excused ${status || failure}`);
    return false;
  }
  const seen = status === 0 ? failure : `${status} ${JSON.stringify(body.slice(0, 300))}`;
  turn.violation(`${nameOf(line)} does not get the expected response`, `${line}: ${seen}`);
  return false;
}

function matches(body: string, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === 'string' ? body === wanted : wanted.test(body);
}

/** A request line of HTTP/0.9, with as many blanks as nginx takes: its response has no head. */
const OLD_REQUEST = /^GET +[^ \r\n]*\r?$/m;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3}) [^\r\n]*\r\n/;

/** Judges what came back for invalid bytes: well-formed responses without a fault of our own are right, or nothing. */
export function judgeMutant(
  turn: Turn,
  sent: Uint8Array,
  { seen, behind = [] }: { seen: Exchanged; behind?: readonly Part[] },
): void {
  const { text, failure, startedMs, closed } = seen;
  const { disturbances } = turn.stage;
  if (failure !== '') {
    if (disturbances.excuse(['process', 'worker'], startedMs)) turn.count(`excused ${failure}`);
    else turn.violation(`a connection failed: ${failure}`, sent);
    return;
  }
  if (text === '') return turn.count(closed ? 'closed' : 'silent');
  const status = STATUS_LINE.exec(text)?.[1];
  if (status === undefined && OLD_REQUEST.test(Buffer.from(sent).toString('latin1')))
    return turn.count('HTTP/0.9');
  if (status === undefined)
    return turn.violation('a response is not HTTP', `${text.slice(0, 500)} <- ${show(sent)}`);
  turn.count(status);
  const isOurs =
    (status === '500' && !text.includes('kv_error')) || (/^50[234]$/.test(status) && behind.length === 0);
  if (isOurs && !disturbances.excuse(['database', 'store', 'worker', 'process'], startedMs))
    turn.violation(`a mutant gets ${status}`, `${text.slice(0, 500)} <- ${show(sent)}`);
}

function show(sent: Uint8Array): string {
  return Buffer.from(sent).toString('latin1').slice(0, 3_000);
}

/** What all requests of a kind have in common: the line without a query or random words. */
function nameOf(line: string): string {
  return line.replace(/\?.*/, '').replaceAll(/\b[a-z0-9]{12}\b/g, '…');
}
