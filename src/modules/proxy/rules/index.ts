import type { ModuleRule } from '../../../contract/index.ts';
import type { ProxyConfig } from '../config.ts';
import { PROXY_HEADER_RULES } from './headers.ts';
import { PROXY_HTTP2_RULES } from './http2.ts';
import { PROXY_URI_RULES } from './uri.ts';
import { PROXY_UPSTREAM_RULES } from './upstreams.ts';

/** The rules about requests to upstreams. */
export const rules: readonly ModuleRule<ProxyConfig>[] = [
  ...PROXY_HEADER_RULES,
  ...PROXY_URI_RULES,
  ...PROXY_UPSTREAM_RULES,
  ...PROXY_HTTP2_RULES,
];
