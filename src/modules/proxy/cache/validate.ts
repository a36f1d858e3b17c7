import { constantText } from '../../../config/index.ts';
import type { ConfigReport } from '../../../contract/index.ts';
import type { ProxyConfig } from '../config.ts';
import { mayCache } from './caches.ts';

/** Checks that each cache is declared once, and that the one that a location names exists. */
export function validateCache(config: ProxyConfig, report: ConfigReport<ProxyConfig>): void {
  const { cachePaths = [], cache } = config;
  for (const [index, { name }] of cachePaths.entries()) {
    if (cachePaths.findIndex((path) => path.name === name) < index)
      report.phrase('cachePaths', `duplicate zone "${name}"`, { index, rule: 'duplicate-directive' });
  }
  const name = constantText(cache);
  if (name === undefined || !mayCache(config) || cachePaths.some((path) => path.name === name)) return;
  report.phrase('cache', `"proxy_cache" zone "${name}" is unknown`, {
    rule: 'bad-reference',
    hint: `declare it: proxy_cache_path cache keys_zone=${name}:10m`,
  });
}
