import { type ArgReader, directivesFor, readers } from '../../../config/index.ts';
import type { CoreConfig, KeepaliveTimeout, OldBrowser } from '../../../contract/index.ts';

const { flag, integer, oneOf, time } = readers;
const HSL = ['http', 'server', 'location'] as const;

const keepaliveTimeout: ArgReader<KeepaliveTimeout> = readers.words(
  { syntax: 'timeout [header_timeout]', min: 1, max: 2 },
  (words, scope) => {
    const [idleMs, headerMs] = words.map((word) => time.read([word], scope));
    if (idleMs === undefined || (words.length > 1 && headerMs === undefined)) return undefined;
    return { idleMs, ...(headerMs !== undefined && { headerSeconds: Math.floor(headerMs / 1000) }) };
  },
);

const BROWSERS: readonly OldBrowser[] = ['msie6', 'safari'];

const keepaliveDisable: ArgReader<readonly OldBrowser[]> = readers.words(
  { syntax: 'none | msie6 | safari ...', min: 1, max: Infinity },
  (words, { report }) => {
    const disabled = new Set<OldBrowser>();
    for (const { value, span } of words) {
      const browser = BROWSERS.find((name) => name === value);
      if (!browser && value !== 'none') {
        report.emerg(`invalid value "${value}"`, span, `expected none, ${BROWSERS.join(' or ')}`);
        return undefined;
      }
      if (browser && disabled.has(browser))
        report.warn(`duplicate value "${value}"`, span, { rule: 'duplicate-directive' });
      if (browser) disabled.add(browser);
    }
    return [...disabled];
  },
);

/** Directives about the lifetime of connections. */
export const connections = directivesFor<CoreConfig>()({
  send_timeout: {
    contexts: HSL,
    args: time,
    into: 'sendTimeoutMs',
    default: 60_000,
    defaultText: '60s',
    summary:
      'Timeout between two successive writes to the client; the uWebSockets.js engine always uses 10 s.',
    source: 'nginx ngx_http_core_module#send_timeout',
  },
  keepalive_timeout: {
    contexts: HSL,
    args: keepaliveTimeout,
    into: 'keepaliveTimeout',
    completedBy: (own, above) => ({ ...above, ...own }),
    default: { idleMs: 75_000 },
    defaultText: '75s',
    summary:
      'How long an idle connection stays open, and the value of the `Keep-Alive` header; 0 closes the connection after each response. uWebSockets.js always uses 10 s.',
    source: 'nginx ngx_http_core_module#keepalive_timeout',
  },
  keepalive_requests: {
    contexts: HSL,
    args: integer(),
    into: 'keepaliveRequests',
    default: 1000,
    summary:
      'Maximum number of requests of one connection. uWebSockets.js does not count them: there only 0, which closes the connection after each response, has an effect.',
    source: 'nginx ngx_http_core_module#keepalive_requests',
  },
  keepalive_time: {
    contexts: HSL,
    args: time,
    into: 'keepaliveTimeMs',
    default: 3_600_000,
    defaultText: '1h',
    summary: 'Maximum time during which one connection may carry requests. Without effect on uWebSockets.js.',
    source: 'nginx ngx_http_core_module#keepalive_time',
  },
  keepalive_disable: {
    contexts: HSL,
    args: keepaliveDisable,
    into: 'keepaliveDisable',
    default: [],
    defaultText: 'none',
    summary:
      'Browsers whose connections are closed: msie6 after a POST, safari after every response. The default is msie6 in nginx and none in gw.',
    source: 'nginx ngx_http_core_module#keepalive_disable',
  },
  lingering_close: {
    contexts: HSL,
    args: oneOf('off', 'on', 'always'),
    into: 'lingeringClose',
    default: 'on',
    summary:
      'Whether gw goes on reading from the client when it closes a connection. On uWebSockets.js it always does so for a body that is too large, and `always` means `on`.',
    source: 'nginx ngx_http_core_module#lingering_close',
  },
  lingering_time: {
    contexts: HSL,
    args: time,
    into: 'lingeringTimeMs',
    default: 30_000,
    defaultText: '30s',
    summary:
      'How long gw reads in all. Of a body that is too large, it reads at most 1 MB more on uWebSockets.js instead.',
    source: 'nginx ngx_http_core_module#lingering_time',
  },
  lingering_timeout: {
    contexts: HSL,
    args: time,
    into: 'lingeringTimeoutMs',
    default: 5_000,
    defaultText: '5s',
    summary: 'Timeout between two reads. Half a second on uWebSockets.js for a body that is too large.',
    source: 'nginx ngx_http_core_module#lingering_timeout',
  },
  reset_timedout_connection: {
    contexts: HSL,
    args: flag,
    into: 'resetTimedoutConnection',
    default: false,
    summary: 'Resets connections that timed out instead of closing them; uWebSockets.js always closes them.',
    source: 'nginx ngx_http_core_module#reset_timedout_connection',
  },
});
