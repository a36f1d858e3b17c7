import type { Word } from '../../grammar/index.ts';
import { type ArgReader, AT, type ComplexValue, defines, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import {
  type AccessCheck,
  beginSpan,
  type Denial,
  type Exchange,
  logContext,
  type Verdict,
} from '../http/index.ts';

/** `auth_request_set $variable value`. */
interface Assignment {
  readonly variable: string;
  readonly value: ComplexValue;
}

/** The authorization subrequest of one location. */
interface AuthRequestConfig {
  /** '' for `off`. */
  readonly uri?: string;
  readonly assignments?: readonly Assignment[];
}

const HSL = ['http', 'server', 'location'] as const;

const assignment: ArgReader<Assignment> = readers.words(
  { syntax: '$variable value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    const variable = /^\$(\w+)$/.exec(name.value)?.[1]?.toLowerCase();
    if (variable === undefined) {
      scope.report.emerg(`invalid variable name "${name.value}"`, name.span);
      return undefined;
    }
    scope.defineVariable(variable, name.span);
    return { variable, value: scope.complexValue(value) };
  },
);

const directives = directivesFor<AuthRequestConfig>()({
  auth_request: {
    contexts: HSL,
    args: readers.oneWord('uri | off', ({ value }) => (value === 'off' ? '' : value)),
    into: 'uri',
    defaultText: 'off',
    summary: 'Sends a subrequest first: a 2xx response allows the request, 401 and 403 refuse it.',
    source: 'nginx ngx_http_auth_request_module#auth_request',
  },
  auth_request_set: {
    contexts: HSL,
    args: assignment,
    into: 'assignments',
    repeat: 'append',
    summary: 'Sets a variable to a value from the response of `auth_request`.',
    roles: defines('variable', AT.variable),
    source: 'nginx ngx_http_auth_request_module#auth_request_set',
  },
});

/** Access by the response to a subrequest (nginx ngx_http_auth_request_module). */
export const authRequest = moduleFor<AuthRequestConfig>()({
  name: 'auth_request',
  summary: 'Access by the response to a subrequest.',
  directives,
  enabled: ({ uri = '' }) => uri !== '',
  strangers: () => 'denied',
  compile: ({ uri = '', assignments = [] }, _resources, build) => {
    const assign = compileAssignments(assignments, build);
    const judge = compileJudge(build);
    const access: AccessCheck = async (x) => {
      const span = beginSpan(x, 'auth_request', 'internal');
      const response = await x.subrequest({ uri, keep: 'head' });
      span?.set('http.response.status_code', response.status).end(response.status >= 500);
      if (x.done) return undefined;
      assign(x, response);
      return judge(x, response);
    };
    return { access };
  },
  explanation: {
    runs: true,
    explain: ({ uri = '', assignments = [] }) => ({
      access: () => ({
        does: `sends a subrequest to "${uri}": 2xx allows the request, 401 and 403 refuse it`,
        unknown: `the response of "${uri}"`,
        unknownVariables: assignments.map(({ variable }) => variable),
      }),
    }),
  },
});

type Take<T> = (x: Exchange, response: Exchange) => T;

/** Compiles `auth_request_set`: values are computed in the subrequest, and the variables are shared with the request. */
function compileAssignments(assignments: readonly Assignment[], build: Build): Take<void> {
  const steps = assignments.map(({ variable, value }) => ({
    render: build.value(value),
    assign: build.assign(variable),
  }));
  return (x, response) => {
    for (const { render, assign } of steps) assign(x, render(response));
  };
}

function compileJudge({ log }: Build): Take<Verdict> {
  return (x, response) => {
    const { status } = response;
    if (status >= 200 && status < 300) return 'allowed';
    if (status === 403) return { status };
    if (status === 401) return unauthorized(response);
    log.write('error', `auth request unexpected status: ${status}`, logContext(x));
    return { status: 500 };
  };
}

/** Returns the 401 with the `WWW-Authenticate` headers of the subrequest's response. */
function unauthorized({ response: { headers: sent = [] } }: Exchange): Denial {
  const headers: string[] = [];
  for (let index = 0; index < sent.length; index += 2) {
    const [name = '', value = ''] = sent.slice(index, index + 2);
    if (name.toLowerCase() === 'www-authenticate') headers.push('WWW-Authenticate', value);
  }
  return { status: 401, headers };
}
