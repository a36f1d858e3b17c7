import { type HeaderNeed, parseHttpDate, type Validators } from './conditions.ts';
import type { Exchange } from './exchange.ts';
import {
  type FileBody,
  multipartBody,
  parseRanges,
  type RangeVerdict,
  singleBody,
  textsOf,
} from './ranges.ts';
import { RANGED } from './response-type.ts';
import { passFilters, transformation } from './transformed.ts';

/** Responds with 416: no requested byte exists. */
export function refuseRange(x: Exchange, { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>): void {
  passFilters(x, { type, lengthBytes: sizeBytes });
  x.response.removeHeader('Last-Modified');
  x.response.removeHeader('ETag');
  x.response.setHeader('Content-Range', `bytes */${sizeBytes}`);
  x.end(416);
}

/** The resource of which ranges are sent. */
interface Resource {
  readonly sizeBytes: number;
  readonly validators: Validators;
  readonly type: string;
}

/** Returns the ranges of a request. `not offered`: the response does not announce that ranges are supported. */
export type Ranges = (x: Exchange, resource: Resource) => RangeVerdict | 'not offered';

/** Compiles the evaluation of `Range` and `If-Range` (nginx: ngx_http_range_header_filter). */
export function compileRanges(
  { maxRanges = Infinity }: { readonly maxRanges?: number | undefined },
  build: HeaderNeed,
): Ranges {
  if (maxRanges === 0) return () => 'not offered';
  build.needHeader('range');
  build.needHeader('if-range');
  return (x, { sizeBytes, validators, type }) => {
    if (!isPlain(x)) return 'not offered';
    const changes = transformation(x, { status: 200, type, lengthBytes: sizeBytes });
    if (changes === 'length') return 'not offered';
    const range = x.request.headers.length === 0 ? undefined : x.header('range');
    if (range === undefined || !isStillThat(x.header('if-range'), sentValidators(x, validators)))
      return 'whole';
    return parseRanges(range, { sizeBytes, maxRanges });
  };
}

/** Returns the validators with the date that the client gets (`add_header Last-Modified`). */
function sentValidators(x: Exchange, validators: Validators): Validators {
  const { modified } = x.rules.ranges;
  return modified
    ? { ...validators, modifiedSeconds: modified(x) ?? validators.modifiedSeconds }
    : validators;
}

/** Evaluates `If-Range`: a tag or a date that must match the resource exactly. */
function isStillThat(ifRange: string | undefined, { etag, modifiedSeconds }: Validators): boolean {
  if (ifRange === undefined) return true;
  return ifRange.endsWith('"') ? ifRange === etag : parseHttpDate(ifRange) === modifiedSeconds;
}

/** True for the client's own request. Conditions and ranges do not apply to subrequests and error pages. */
export function isPlain(x: Exchange): boolean {
  return x.main === x && (x.errorStatus === 0 || x.errorStatus === 200);
}

/** Returns the body of a 206, and sets its `Content-Range`. */
export function partialBody(
  x: Exchange,
  ranges: Extract<RangeVerdict, readonly unknown[]>,
  { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>,
): FileBody {
  const [only] = ranges;
  if (!only || ranges.length > 1) {
    const contentType = x.rules.ranges.typeOfParts?.(x, type) ?? type;
    const body = multipartBody(ranges, { contentType, sizeBytes });
    x.setState(RANGED, { type, sizeBytes, texts: textsOf(body) });
    return body;
  }
  x.setState(RANGED, { type, sizeBytes });
  x.response.setHeader('Content-Range', `bytes ${only.from}-${only.to - 1}/${sizeBytes}`);
  return singleBody(only, type);
}
