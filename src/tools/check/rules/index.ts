import type { Rule } from '../../../contract/index.ts';
import { ACCESS_RULES } from './access.ts';
import { CACHING_RULES } from './caching/index.ts';
import { CAPTURE_RULES } from './captures.ts';
import { CERTIFICATE_RULES } from './certificates.ts';
import { CIPHER_RULES } from './ciphers.ts';
import { CLUSTER_RULES } from './clusters.ts';
import { FILE_RULES } from './files.ts';
import { HEADER_RULES } from './headers.ts';
import { IDENTITY_RULES } from './identity.ts';
import { LIMIT_RULES } from './limits.ts';
import { LOAD_FAULTS } from './load-faults.ts';
import { LOCATION_RULES } from './locations.ts';
import { ORIGIN_RULES } from './origins.ts';
import { PATTERN_RULES } from './patterns.ts';
import { PLAIN_HTTP_RULES } from './plain-http.ts';
import { ENGINE_RULES } from './engines.ts';
import { RESOLVER_RULES } from './resolver.ts';
import { REWRITE_RULES } from './rewrite.ts';
import { SECRET_RULES } from './secrets.ts';
import { SERVER_RULES } from './servers.ts';
import { SPELLING_RULES } from './spelling.ts';
import { SSRF_RULES } from './ssrf.ts';
import { UPSTREAM_RULES } from './upstream.ts';

/** The rules about the language, the plan and the interaction of modules. */
export const OWN_RULES: readonly Rule[] = [
  ...LOAD_FAULTS,
  ...CAPTURE_RULES,
  ...SPELLING_RULES,
  ...SERVER_RULES,
  ...LOCATION_RULES,
  ...PATTERN_RULES,
  ...REWRITE_RULES,
  ...FILE_RULES,
  ...ACCESS_RULES,
  ...HEADER_RULES,
  ...IDENTITY_RULES,
  ...ORIGIN_RULES,
  ...SECRET_RULES,
  ...ENGINE_RULES,
  ...LIMIT_RULES,
  ...CLUSTER_RULES,
  ...PLAIN_HTTP_RULES,
  ...CIPHER_RULES,
  ...CERTIFICATE_RULES,
  ...RESOLVER_RULES,
  ...SSRF_RULES,
  ...UPSTREAM_RULES,
  ...CACHING_RULES,
];
