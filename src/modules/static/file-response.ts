import type { Build } from '../../contract/index.ts';
import {
  compileConditions,
  compileRanges,
  type Exchange,
  type Handler,
  isPlain,
  partialBody,
  refuseRange,
  singleBody,
  type Validators,
  validatorsOf,
} from '../../http/index.ts';
import type { FileSender, Sending } from '../../bodies/index.ts';
import type { StaticConfig } from './directives.ts';
import type { OpenFile } from './files.ts';

/** Sends an open file as the response and releases it; `path` is for the error log. */
export type FileResponse = (x: Exchange, file: OpenFile, path: string) => void | Promise<void>;

/** Sets the validators of a response. True: the conditions of the request decided, and the response has been sent. */
export type ApplyValidators = (x: Exchange, validators: Validators) => boolean;

/** Compiles `Last-Modified`, `ETag` and conditional requests. */
export function compileValidators(build: Build): ApplyValidators {
  const conditions = compileConditions(build.core.ifModifiedSince, build);
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
  const rangesOf = compileRanges(offersRanges === false ? { maxRanges: 0 } : build.core, build);
  /** Returns the response to send, or `undefined` after a response without the file. */
  const decide = (x: Exchange, file: OpenFile, path: string): Sending | undefined => {
    const validators = config.etag ? file.validators : { ...file.validators, etag: '' };
    // After X-Accel-Redirect this may be the header of the upstream, which belongs to another body.
    x.response.removeHeader('Accept-Ranges');
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
