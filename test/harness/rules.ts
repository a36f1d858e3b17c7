import type { ConnectionRules, ResponseRules, Router } from '../../src/http/index.ts';

/** The router of a transport or handler that is tested alone. */
const nowhere = (): never => {
  throw new Error('there is no other place');
};
const NOWHERE: Router = {
  toUri: nowhere,
  toPath: nowhere,
  toNamed: nowhere,
  subrequest: nowhere,
  rehearse: () => Promise.resolve(ONLY_PLACE),
};
/** The one location of such a test. */
export const ONLY_PLACE = { place: 'test:1', path: '/api/', servedBy: 'dbrest' };

/** The connection rules of a configuration without directives. */
export const CONNECTION: ConnectionRules = {
  keepalive: true,
  idleMs: 75_000,
  maxRequests: 1000,
  lifeMs: 3_600_000,
  keepaliveHeader: undefined,
  closesFor: undefined,
  lingering: { mode: 'on', timeMs: 30_000, silenceMs: 5_000 },
  resetsTimedOut: false,
};

/** The response rules of a server without directives, with a log of the test. */
export const RULES: Omit<ResponseRules, 'writeLog'> = {
  defaultType: '',
  maxBodyBytes: 0,
  bodyTimeoutMs: 1_000,
  sendTimeoutMs: 1_000,
  connection: CONNECTION,
  serverToken: 'gw',
  redirects: { isAbsolute: false, byServerName: false, withPort: true },
  chunks: true,
  msiePadding: false,
  msieRefresh: false,
  recursiveErrorPages: false,
  maxKeptBytes: 4096,
  filters: [],
  bodyFilters: [],
  ranges: {},
  logs: [],
  subrequestLogs: [],
  shown: {},
  router: NOWHERE,
};
