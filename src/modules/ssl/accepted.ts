import { readers } from '../../config/index.ts';
import type { ArgReader, Context, Rows } from '../../config/index.ts';
import type { SslConfig } from '../../contract/index.ts';

const { flag, size, text, texts } = readers;
const HS: readonly Context[] = ['http', 'server'];

const ONLY_TUNES = 'it tunes how nginx sends and keeps things';
const NO_STAPLING = 'certificate answers are not stapled';

const LIST: readonly (readonly [name: string, args: ArgReader<unknown>, why: string])[] = [
  ['ssl_stapling', flag, NO_STAPLING],
  ['ssl_stapling_verify', flag, NO_STAPLING],
  ['ssl_stapling_file', text, NO_STAPLING],
  ['ssl_stapling_responder', text, NO_STAPLING],
  ['ssl_ocsp_responder', text, 'OCSP is not asked'],
  ['ssl_ocsp_cache', text, 'OCSP is not asked'],
  ['ssl_early_data', flag, 'early data is not taken, which is the safe choice'],
  ['ssl_buffer_size', size, ONLY_TUNES],
  ['ssl_certificate_cache', texts, ONLY_TUNES],
  ['ssl_certificate_compression', flag, ONLY_TUNES],
];

/** Rows of the directives that are accepted for compatibility. */
export const ACCEPTED: Rows<SslConfig> = Object.fromEntries(
  LIST.map(([name, args, why]) => [
    name,
    {
      contexts: HS,
      args,
      accepted: why,
      summary: `Accepted, without effect: ${why}.`,
      source: `nginx ngx_http_ssl_module#${name}`,
    },
  ]),
);
