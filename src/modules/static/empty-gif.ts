import type { Handler } from '../../http/index.ts';
import type { ValidatorsOf } from './answer-file.ts';

/** One transparent pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIABAAAAAP///yH5BAEAAAEALAAAAAABAAEAAAICTAEAOw==', 'base64');

/** It has not changed since nginx was first made up: Mon, 28 Sep 1970 06:00:00 GMT. */
const MODIFIED_SECONDS = 23_349_600;

/** `empty_gif` (nginx: ngx_http_empty_gif_handler). */
export function compileEmptyGif(validators: ValidatorsOf): Handler {
  return (x) => {
    if (x.method !== 'GET' && x.method !== 'HEAD') return x.end(405);
    return validators(x, MODIFIED_SECONDS, '') ? undefined : x.send(200, 'image/gif', PIXEL);
  };
}
