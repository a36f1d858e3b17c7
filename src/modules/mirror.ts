import { type ArgReader, directivesFor, readers } from '../config/index.ts';
import { type CoreConfig, moduleFor, type Explainer } from '../contract/index.ts';
import type { Exchange, Handler } from '../http/index.ts';
import { spoolBody, spoolRules, type SpooledBody } from '../bodies/index.ts';

interface MirrorConfig {
  readonly targets?: readonly (string | 'off')[];
  readonly body: boolean;
}

const HSL = ['http', 'server', 'location'] as const;

const target: ArgReader<string> = readers.oneWord('uri | off', ({ value }) => value);

const directives = directivesFor<MirrorConfig>()({
  mirror: {
    contexts: HSL,
    args: target,
    into: 'targets',
    repeat: 'append',
    defaultText: 'off',
    summary: 'Sends a copy of each request to a URI of this server as well; the response is ignored.',
    source: 'nginx ngx_http_mirror_module#mirror',
  },
  mirror_request_body: {
    contexts: HSL,
    args: readers.flag,
    into: 'body',
    default: true,
    summary: 'Whether the copy has the body: then the request is processed after all of it has been read.',
    source: 'nginx ngx_http_mirror_module#mirror_request_body',
  },
});

/** nginx's mirror module: copies of requests in the background. */
export const mirror = moduleFor<MirrorConfig>()({
  name: 'mirror',
  summary: 'Sends copies of requests to other locations.',
  directives,
  enabled: ({ targets = [] }) => targets.some((uri) => uri !== 'off'),
  compile: ({ targets = [], body }, _resources, build) => ({
    precontent: targets.includes('off')
      ? () => undefined
      : compileMirror(targets, body ? spoolRules(build) : undefined),
  }),
  explanation: {
    explain: ({ targets = [] }): { precontent?: Explainer } =>
      targets.includes('off')
        ? {}
        : { precontent: () => ({ does: `sends a copy to ${targets.map((uri) => `"${uri}"`).join(', ')}` }) },
  },
});

/** Compiles the handler. `core` gives the directory for bodies; absent if the copies have no body. */
function compileMirror(targets: readonly string[], core: CoreConfig | undefined): Handler {
  const copy = (x: Exchange, body: 'parent' | 'none'): readonly Promise<unknown>[] =>
    targets.map((uri) => x.subrequest({ uri, args: x.args, method: x.method, body, keep: 'head' }));
  return (x) => {
    if (x.main !== x) return undefined;
    if (!core || x.request.contentLength === 0) return void copy(x, 'none');
    return spoolBody(x, core).then((body) => {
      if (body) closeBehind(body, [...copy(x, 'parent'), ended(x)]);
    });
  };
}

function ended(x: Exchange): Promise<void> {
  return new Promise((resolve) => {
    x.onEnd(resolve);
  });
}

function closeBehind(body: SpooledBody, users: readonly Promise<unknown>[]): void {
  void Promise.all(users).then(() => body.close());
}
