import { type Build, type Explainer, moduleFor } from '../../contract/index.ts';
import { type Exchange, type Handler, HttpFault, normalizePath, splitTarget } from '../../http/index.ts';
import { spoolBody, spooledBody, spoolRules } from '../../bodies/index.ts';
import { directives, type EchozConfig, type Step, type Target, validate } from './directives.ts';
import { compileHead, compileWords, compileWrapping } from './filters.ts';
import { Output } from './output.ts';

/** Carries out a directive. `end`: the request has been redirected. */
type Act = (x: Exchange, output: Output) => void | Promise<void | 'end'> | 'end';

/** nginz's echoz module: responses that are written in the configuration. */
export const echoz = moduleFor<EchozConfig>()({
  name: 'echoz',
  summary: 'Responds with texts, bodies of requests and pauses, as in nginz.',
  directives,
  variables: {
    echoz_request_body: {
      summary: 'The body, where it was read and is in memory, as `$request_body`.',
      live: true,
      compile: () => (x) => spooledBody(x.main)?.bytes?.toString() || undefined,
    },
  },
  content: 'steps',
  enabled: (config) => Object.values(config).some((part) => part !== undefined),
  validate,
  compile: (config, _resources, build) => {
    const { steps = [] } = config;
    const filter = compileHead(config, build);
    const bodyFilter = compileWrapping(config, build);
    return {
      ...(steps.length > 0 && { content: compileContent(steps, build) }),
      ...(filter && { filter }),
      ...(bodyFilter && { bodyFilter }),
    };
  },
  explanation: {
    explain: ({ steps = [] }, _resources, build) =>
      steps.length > 0 ? { content: compileExplainer(steps, build) } : {},
  },
});

/** Explains the steps: a redirect is followed, but no subrequest is made and nothing waits. */
function compileExplainer(steps: readonly Step[], build: Build): Explainer {
  const last = steps.at(-1);
  if (last?.kind !== 'redirect') return () => ({ does: 'responds with text of the configuration' });
  const redirect = compileRedirect(last.target, build);
  return async (x) => {
    await redirect(x);
    return undefined;
  };
}

function compileContent(steps: readonly Step[], build: Build): Handler {
  const typeOf = build.contentType();
  if (steps.every((step) => step.kind === 'text')) {
    const texts = steps.map((step) => compileText(step, build));
    return (x) => x.send(200, typeOf(x), texts.map((render) => render(x)).join(''));
  }
  const acts = steps.map((step) => compileStep(step, build));
  // A body can be read only before the response has begun.
  const needsBody = steps.some(({ kind }) => kind === 'read body' || kind === 'body');
  const hasBody = needsBody ? compileBodyReader(build) : () => true;
  return async (x) => {
    if (!(await hasBody(x))) return;
    const output = new Output(x, typeOf);
    for (const act of acts) {
      if ((await act(x, output)) === 'end' || x.aborted) return;
    }
    await output.end();
  };
}

function compileText({ words, end }: Extract<Step, { kind: 'text' }>, build: Build): (x: Exchange) => string {
  const render = compileWords(words, build);
  return (x) => render(x) + end;
}

function compileStep(step: Step, build: Build): Act {
  switch (step.kind) {
    case 'text': {
      const render = compileText(step, build);
      return (x, output) => output.add(Buffer.from(render(x)));
    }
    case 'duplicate':
      return compileDuplicate(step, build);
    case 'flush':
      return (_x, output) => output.send();
    case 'sleep':
      return (x, output) => sleep(step.delayMs, x, output);
    case 'read body':
      return () => undefined;
    case 'body':
      return async (x, output) => {
        const pieces = spooledBody(x.main)?.pieces() ?? [];
        for await (const piece of pieces) await output.add(piece);
      };
    case 'subrequest':
      return compileSubrequest(step.target, build);
    case 'redirect':
      return compileRedirect(step.target, build);
  }
}

const PIECE_BYTES = 65_536;

/** Repeats a text piece by piece: a small number in the configuration can produce much text. */
function compileDuplicate({ times, words }: Extract<Step, { kind: 'duplicate' }>, build: Build): Act {
  const render = compileWords(words, build);
  return async (x, output) => {
    const once = Buffer.from(render(x));
    if (once.byteLength === 0) return;
    const atOnce = Math.max(1, Math.floor(PIECE_BYTES / once.byteLength));
    const piece = Buffer.concat(Array<Buffer>(Math.min(atOnce, times)).fill(once));
    let left = times;
    for (; left >= atOnce && !output.isOver; left -= atOnce) await output.add(piece);
    await output.add(piece.subarray(0, left * once.byteLength));
  };
}

/** Waits; ends early if the client leaves. */
async function sleep(delayMs: number, x: Exchange, output: Output): Promise<void> {
  if (output.hasText) await output.send();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    x.onAbort(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Reads the body unless it has been read. Returns false if the request got a response instead. */
function compileBodyReader(build: Build): (x: Exchange) => Promise<boolean> {
  const rules = spoolRules(build);
  return async (x) => {
    // A subrequest has the body that its main request has read.
    if (x.main !== x || spooledBody(x)) return true;
    const body = await spoolBody(x, rules);
    if (body) x.onEnd(() => void body.close());
    return body !== undefined;
  };
}

/** A named location, or a path with its arguments. */
interface Destination {
  readonly uri: string;
  readonly args: string;
}

function compileTarget({ uri, args }: Target, build: Build): (x: Exchange) => Destination {
  const render = build.value(uri);
  const renderArgs = args && build.value(args);
  const { mergeSlashes } = build.core;
  return (x) => {
    const target = render(x);
    if (target.startsWith('@')) return { uri: target, args: '' };
    const parts = splitTarget(target);
    const path = normalizePath(parts.path, mergeSlashes);
    if (path === undefined || !path.startsWith('/'))
      throw new HttpFault(500, `invalid URI "${target}" in "echoz"`);
    return { uri: path, args: parts.args === '' ? (renderArgs?.(x) ?? '') : parts.args };
  };
}

function compileSubrequest(target: Target, build: Build): Act {
  const destinationOf = compileTarget(target, build);
  return (x) => void x.subrequest({ ...destinationOf(x), keep: 'head' });
}

function compileRedirect(target: Target, build: Build): (x: Exchange) => Promise<'end'> {
  const destinationOf = compileTarget(target, build);
  return async (x) => {
    const { uri, args } = destinationOf(x);
    if (uri.startsWith('@')) await x.redirectInternally(uri);
    else {
      x.args = args;
      await x.redirectToPath(uri);
    }
    return 'end';
  };
}
