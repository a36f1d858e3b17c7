import type { CertificateCache } from '../system/index.ts';
import { parseTimeMs, words } from './readers.ts';
import type { ArgReader } from './row.ts';

const TIMES: ReadonlyMap<string, 'inactiveMs' | 'validMs'> = new Map([
  ['inactive', 'inactiveMs'],
  ['valid', 'validMs'],
]);

/** Reads `ssl_certificate_cache` and similar directives (nginx ngx_http_ssl_certificate_cache). */
export const certificateCache: ArgReader<CertificateCache | 'off'> = words(
  { syntax: 'off | max=number [inactive=time] [valid=time]', min: 1, max: 3 },
  (list, { directive, span, report }) => {
    if (list.some(({ value }) => value === 'off')) return 'off';
    let cache: CertificateCache = { max: 0, inactiveMs: 10_000, validMs: 60_000 };
    for (const word of list) {
      const [name = '', text = ''] = word.value.split(/=(.*)/s);
      const field = TIMES.get(name);
      const timeMs = field && parseTimeMs(text);
      if (field && timeMs !== undefined) cache = { ...cache, [field]: timeMs };
      else if (name === 'max' && /^[1-9]\d{0,8}$/.test(text)) cache = { ...cache, max: Number(text) };
      else {
        report.emerg(
          `invalid parameter "${word.value}"`,
          word.span,
          'expected off, max=, inactive= or valid=',
        );
        return undefined;
      }
    }
    if (cache.max > 0) return cache;
    report.emerg(`"${directive}" must have the "max" parameter`, span, 'expected a number such as max=1000');
    return undefined;
  },
);
