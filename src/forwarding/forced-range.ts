import { type Exchange, partialBody, refuseRange, compileRanges } from '../http/index.ts';
import { type BodyTaker, RangeTaker } from '../bodies/index.ts';
import { type AcceptedResponse, validatorsOf } from '../cache/index.ts';
import type { ForwardingBuild } from './build.ts';

/** Returns the receiver that passes the body of a response to the client. */
type Pass = (x: Exchange, accepted: AcceptedResponse) => BodyTaker;

/**
 * Compiles `…_force_ranges` for responses that are not stored: the upstream sends the whole body, and the client gets
 * one range. A request for several ranges gets the whole body (nginx: single_range).
 */
export function compileForcedRange(pass: Pass, build: ForwardingBuild): Pass {
  const { maxRanges } = build.core;
  const rangesOf = compileRanges({ maxRanges: maxRanges === 0 ? 0 : 1 }, build);
  return (x, accepted) => {
    const { head, contentType: type } = accepted;
    const { status, announcedBytes: sizeBytes } = head;
    x.response.removeHeader('Accept-Ranges');
    if (status !== 200 || sizeBytes < 0) return pass(x, accepted);
    const ranges = rangesOf(x, { sizeBytes, validators: validatorsOf(head), type });
    if (ranges === 'whole') x.response.setKnownHeader('Accept-Ranges', 'bytes');
    if (ranges === 'whole' || ranges === 'not offered') return pass(x, accepted);
    x.errorStatus = 0;
    if (ranges === 'unsatisfiable') return refusing(x, { type, sizeBytes });
    const [range = { from: 0, to: sizeBytes }] = ranges;
    const { lengthBytes } = partialBody(x, ranges, { sizeBytes, type });
    const part = { ...head, status: 206, announcedBytes: lengthBytes };
    return new RangeTaker(pass(x, { ...accepted, head: part }), range);
  };
}

/** Responds with 416 as soon as the connection to the upstream is free for the next request. */
function refusing(x: Exchange, resource: { readonly type: string; readonly sizeBytes: number }): BodyTaker {
  const send = (): void => refuseRange(x, resource);
  return { piece: () => undefined, follow: () => undefined, end: send, cut: send, drop: () => undefined };
}
