import type { Build } from '../../contract/index.ts';
import { type Exchange, type Handler, isTransformed, PARTS_TYPE, passFilters } from '../../http/index.ts';
import { compileConditions, parseHttpDate, type Validators, validatorsOf } from './conditions.ts';
import type { StaticConfig } from './directives.ts';
import type { OpenFile } from './files.ts';
import { type FileBody, multipartBody, parseRanges, type RangeVerdict, singleBody } from './ranges.ts';
import type { FileSender, Sending } from './send-file.ts';

/** Sends an open file as the response and releases it; `path` is for the error log. */
export type FileResponse = (x: Exchange, file: OpenFile, path: string) => void | Promise<void>;

/** Sets the validators of a response. True: the conditions of the request decided, and the response has been sent. */
export type ApplyValidators = (x: Exchange, validators: Validators) => boolean;

/** Compiles `Last-Modified`, `ETag` and conditional requests. */
export function compileValidators(
  { ifModifiedSince }: Pick<StaticConfig, 'ifModifiedSince'>,
  build: Build,
): ApplyValidators {
  const conditions = compileConditions(ifModifiedSince, build);
  return (x, validators) => {
    const { etag } = validators;
    const plain = isPlain(x);
    const verdict = plain ? conditions(x, validators) : 200;
    if (verdict !== 200) x.errorStatus = 0;
    if (verdict === 412) {
      x.end(412);
      return true;
    }
    if (plain) x.response.setKnownHeader('Last-Modified', validators.lastModified);
    if (etag !== '') x.response.setKnownHeader('ETag', etag);
    if (verdict === 200) return false;
    x.response.removeHeader('Content-Encoding');
    x.send(304, '', '');
    return true;
  };
}

interface FileResponseParts {
  readonly validators: ApplyValidators;
  readonly sender: FileSender;
  /** False: ranges are never served. */
  readonly ranges?: false;
}

/** Compiles the response for a file (nginx: ngx_http_static_handler, not_modified and range filters). */
export function compileFileResponse(
  config: StaticConfig,
  { validators: apply, sender, ranges: offersRanges }: FileResponseParts,
  build: Build,
): FileResponse {
  const contentType = build.contentType();
  const rangesOf = compileRanges(offersRanges === false ? { maxRanges: 0 } : config, build);
  /** Gives what is sent; `undefined` if the response has been sent without the file. */
  const decide = (x: Exchange, file: OpenFile, path: string): Sending | undefined => {
    const validators = config.etag ? file.validators : { ...file.validators, etag: '' };
    if (apply(x, validators)) return undefined;
    const { sizeBytes } = file;
    const type = contentType(x);
    const ranges = rangesOf(x, { sizeBytes, validators, type });
    if (ranges === 'whole') x.response.setKnownHeader('Accept-Ranges', 'bytes');
    if (ranges === 'whole' || ranges === 'not offered')
      return { status: 200, body: singleBody({ from: 0, to: sizeBytes }, type), path };
    x.errorStatus = 0;
    if (ranges !== 'unsatisfiable')
      return { status: 206, body: partialBody(x, ranges, { sizeBytes, type }), path };
    refuseRange(x, { sizeBytes, type });
    return undefined;
  };
  return (x, file, path) => {
    let sending: Sending | undefined;
    try {
      sending = decide(x, file, path);
    } finally {
      if (!sending) file.release();
    }
    return sending && sender.send(x, file, sending);
  };
}

function refuseRange(x: Exchange, { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>): void {
  passFilters(x, { type, lengthBytes: sizeBytes });
  x.response.removeHeader('Last-Modified');
  x.response.removeHeader('ETag');
  x.response.setHeader('Content-Range', `bytes */${sizeBytes}`);
  x.end(416);
}

interface Resource {
  readonly sizeBytes: number;
  readonly validators: Validators;
  readonly type: string;
}

type Ranges = (x: Exchange, resource: Resource) => RangeVerdict | 'not offered';

function compileRanges({ maxRanges = Infinity }: Pick<StaticConfig, 'maxRanges'>, build: Build): Ranges {
  if (maxRanges === 0) return () => 'not offered';
  build.needHeader('range');
  build.needHeader('if-range');
  return (x, { sizeBytes, validators, type }) => {
    if (!isPlain(x) || isTransformed(x, { status: 200, type, lengthBytes: sizeBytes })) return 'not offered';
    const range = x.request.headers.length === 0 ? undefined : x.header('range');
    if (range === undefined || !isStillThat(x.header('if-range'), validators)) return 'whole';
    return parseRanges(range, { sizeBytes, maxRanges });
  };
}

/** Evaluates `If-Range`: a tag or a date that must match the resource exactly. */
function isStillThat(ifRange: string | undefined, { etag, modifiedSeconds }: Validators): boolean {
  if (ifRange === undefined) return true;
  return ifRange.endsWith('"') ? ifRange === etag : parseHttpDate(ifRange) === modifiedSeconds;
}

/** Conditions and ranges apply to the client's own request only, not to subrequests and error pages. */
function isPlain(x: Exchange): boolean {
  return x.main === x && (x.errorStatus === 0 || x.errorStatus === 200);
}

function partialBody(
  x: Exchange,
  ranges: Extract<RangeVerdict, readonly unknown[]>,
  { sizeBytes, type }: Pick<Resource, 'sizeBytes' | 'type'>,
): FileBody {
  const [only] = ranges;
  if (!only || ranges.length > 1) {
    x.setState(PARTS_TYPE, type);
    return multipartBody(ranges, { contentType: type, sizeBytes });
  }
  x.response.setHeader('Content-Range', `bytes ${only.from}-${only.to - 1}/${sizeBytes}`);
  return singleBody(only, type);
}

/** One transparent pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIABAAAAAP///yH5BAEAAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');

/** Its date is the one that nginx uses: Mon, 28 Sep 1970 06:00:00 GMT. */
const PIXEL_VALIDATORS = { ...validatorsOf(23_349_600, PIXEL.length), etag: '' };

/** Compiles `empty_gif` (nginx: ngx_http_empty_gif_handler). */
export function compileEmptyGif(apply: ApplyValidators): Handler {
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') return x.end(405);
    return apply(x, PIXEL_VALIDATORS) ? undefined : x.send(200, 'image/gif', PIXEL);
  };
}
