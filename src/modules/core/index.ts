import type { Rows } from '../../config/index.ts';
import { type CoreConfig, missingSyslogHosts, moduleFor } from '../../contract/index.ts';
import { ACCEPTED } from './directives/accepted.ts';
import { responses } from './directives/responses.ts';
import { checking } from './directives/check.ts';
import { compression } from './directives/compression.ts';
import { connections } from './directives/connections.ts';
import { http2 } from './directives/http2.ts';
import { metrics } from './directives/metrics.ts';
import { files } from './directives/files.ts';
import { processes } from './directives/process.ts';
import { requests } from './directives/requests.ts';
import { resolving } from './directives/resolver.ts';
import { structure } from './directives/structure.ts';
import { upstreamResponses } from './directives/upstream-responses.ts';
import { responseFamilies, ofResponse } from './variables/response.ts';
import { ofClock, ofConnection, ofProxyProtocol, proxyProtocolFamilies } from './variables/connection.ts';
import type { Families, Variables } from './variables/reading.ts';
import { ofRequest, requestFamilies } from './variables/request.ts';

/** nginx's core and http core directives. */
const directives: Rows<CoreConfig> = {
  ...structure,
  ...checking,
  ...processes,
  ...metrics,
  ...requests,
  ...connections,
  ...http2,
  ...responses,
  ...compression,
  ...files,
  ...upstreamResponses,
  ...resolving,
  ...ACCEPTED,
};

/** nginx's core variables (nginx ngx_http_core_module#variables). */
export const variables: Variables = {
  ...ofRequest,
  ...ofConnection,
  ...ofProxyProtocol,
  ...ofResponse,
  ...ofClock,
};

/** Variables whose names have a variable part: `$arg_page`, `$http_user_agent`. */
export const families: Families = { ...requestFamilies, ...responseFamilies, ...proxyProtocolFamilies };

/** Tags of one line of the error log. */
const MAX_LOG_TAGS = 16;

/** nginx's core: structure, sockets, limits, error pages. The plan and compile stages evaluate its config themselves. */
export const core = moduleFor<CoreConfig>()({
  name: 'core',
  summary:
    'Servers, locations, listening sockets, requests, error pages, logs of errors, and the process itself.',
  directives,
  variables,
  families,
  validate({ errorLogTags = [] }, report) {
    const names = new Set<string>();
    for (const [index, { name }] of errorLogTags.entries()) {
      const message = `duplicate "error_log_tag" name "${name}"`;
      if (names.has(name)) report.phrase('errorLogTags', message, { index, rule: 'duplicate-directive' });
      names.add(name);
    }
    if (names.size > MAX_LOG_TAGS)
      report.on('errorLogTags', `has more than ${MAX_LOG_TAGS} tags on one level`);
  },
  writes: ({ errorLogs = [], bodyTempPath }) => ({
    files: errorLogs.flatMap((log) => ('path' in log && log.path !== 'stderr' ? log.path : [])),
    directories: bodyTempPath ? [bodyTempPath.path] : [],
  }),
  uses: ({ purgeCluster: name }) =>
    name === undefined ? [] : [{ kind: 'cluster', name, field: 'purgeCluster' }],
  async probe({ errorLogs = [] }, live) {
    const servers = errorLogs.map((log) => ('syslog' in log ? log.syslog : undefined));
    return (await missingSyslogHosts(servers, live)).map((found) => ({ ...found, field: 'errorLogs' }));
  },
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});
