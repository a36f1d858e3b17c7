import type { Rule } from '../../rule.ts';
import { ssrf } from './ssrf.ts';
import { missingResolver } from './missing-resolver.ts';
import { staticDns } from './static-dns.ts';
import { resolverExternal } from './resolver-external.ts';
import { proxyHeaderRedefinition } from './proxy-header-redefinition.ts';
import { hostSpoofing } from './host-spoofing.ts';
import { missingHostHeader } from './missing-host-header.ts';
import { proxyUriNormalized } from './proxy-uri-normalized.ts';
import { proxySlashMismatch } from './proxy-slash-mismatch.ts';
import { proxyUriInRegex } from './proxy-uri-in-regex.ts';
import { keepaliveHeaders } from './keepalive-headers.ts';
import { websocketUpgrade } from './websocket-upgrade.ts';
import { bufferingOff } from './buffering-off.ts';
import { xffAppend } from './xff-append.ts';
import { singleServerRetry } from './single-server-retry.ts';
import { retryNonIdempotent } from './retry-non-idempotent.ts';
import { proxySslUnverified } from './proxy-ssl-unverified.ts';

/** Requests to upstreams: GW4xx. */
export const PROXY_RULES: readonly Rule[] = [
  ssrf,
  missingResolver,
  staticDns,
  resolverExternal,
  proxyHeaderRedefinition,
  hostSpoofing,
  missingHostHeader,
  proxyUriNormalized,
  proxySlashMismatch,
  proxyUriInRegex,
  keepaliveHeaders,
  websocketUpgrade,
  bufferingOff,
  xffAppend,
  singleServerRetry,
  retryNonIdempotent,
  proxySslUnverified,
];
