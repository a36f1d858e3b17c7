import { isSafeHeaderName, isSafeHeaderValue } from '../../http/index.ts';

/** Behind a body they could only mislead: they frame, route or describe what went before (RFC 9110, 6.5.1). */
const NEVER_TRAILERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'host',
  'keep-alive',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The fields behind an upstream's body that the client may get; none of them can end the answer early or begin another. */
export function passedTrailers(fields: readonly string[]): readonly string[] {
  return fields.flatMap((name, index) => {
    const value = fields[index + 1];
    if (index % 2 === 1 || value === undefined) return [];
    const isPassed = isSafeHeaderName(name) && !NEVER_TRAILERS.has(name.toLowerCase());
    return isPassed && isSafeHeaderValue(value) ? [name, value] : [];
  });
}
