import type { Rule } from '../rule.ts';
import { LOAD_FAULTS } from './load-faults.ts';
import { CAPTURE_RULES } from './captures.ts';
import { SPELLING_RULES } from './spelling.ts';
import { SERVER_RULES } from './servers.ts';
import { LOCATION_RULES } from './locations.ts';
import { PATTERN_RULES } from './patterns.ts';
import { REWRITE_RULES } from './rewrite.ts';
import { MAP_RULES } from './map.ts';
import { FILE_RULES } from './files.ts';
import { ACCESS_RULES } from './access.ts';
import { HEADER_RULES } from './headers.ts';
import { ORIGIN_RULES } from './origins.ts';
import { SECRET_RULES } from './secrets.ts';
import { REALIP_RULES } from './realip.ts';
import { LIMIT_RULES } from './limits.ts';
import { PLAIN_HTTP_RULES } from './plain-http.ts';
import { CIPHER_RULES } from './ciphers.ts';
import { CERTIFICATE_RULES } from './certificates.ts';
import { RESOLVER_RULES } from './resolver.ts';
import { SSRF_RULES } from './ssrf.ts';
import { PROXY_RULES } from './proxy/index.ts';
import { UPSTREAM_RULES } from './upstream.ts';
import { DBREST_RULES } from './dbrest/index.ts';
import { KV_RULES } from './kv.ts';
import { WORKER_EVENTS_RULES } from './worker_events.ts';
import { CONTROL_RULES } from './control.ts';
import { CORE_RULES } from './core.ts';
import { ACCESS_LOG_RULES } from './access_log.ts';
import { GZIP_RULES } from './gzip.ts';

/** Every rule, in the order of the ids. */
export const RULES: readonly Rule[] = [
  ...LOAD_FAULTS,
  ...CAPTURE_RULES,
  ...SPELLING_RULES,
  ...SERVER_RULES,
  ...LOCATION_RULES,
  ...PATTERN_RULES,
  ...REWRITE_RULES,
  ...MAP_RULES,
  ...FILE_RULES,
  ...ACCESS_RULES,
  ...HEADER_RULES,
  ...ORIGIN_RULES,
  ...SECRET_RULES,
  ...REALIP_RULES,
  ...LIMIT_RULES,
  ...PLAIN_HTTP_RULES,
  ...CIPHER_RULES,
  ...CERTIFICATE_RULES,
  ...RESOLVER_RULES,
  ...SSRF_RULES,
  ...PROXY_RULES,
  ...UPSTREAM_RULES,
  ...DBREST_RULES,
  ...KV_RULES,
  ...WORKER_EVENTS_RULES,
  ...CONTROL_RULES,
  ...CORE_RULES,
  ...ACCESS_LOG_RULES,
  ...GZIP_RULES,
].toSorted((a, b) => a.id.localeCompare(b.id));

const byName = new Map(RULES.flatMap((rule) => [rule.id, rule.slug].map((name) => [name, rule])));

/** A rule by its id or its slug. */
export function ruleNamed(name: string): Rule | undefined {
  return byName.get(name);
}
