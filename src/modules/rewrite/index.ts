import { type ComplexValue, constantText } from '../../config/index.ts';
import {
  type Build,
  type IfStep,
  moduleFor,
  type ReturnStep,
  type RewriteConfig,
  type SetStep,
  type Step,
} from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import { compileOperand, type Compiling } from './captures.ts';
import { compileCondition } from './condition.ts';
import { directives } from './directives.ts';
import { compileRedirect, compileRewrite } from './rewrite.ts';

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** nginx's codes that close the connection without a response. */
const CLOSING: ReadonlySet<number> = new Set([408, 444, 499]);

const NO_CONTENT = 204;

/** Compiles `return code [text | URL];` (nginx ngx_http_rewrite_module#return). All decisions are made at load time. */
function compileReturn({ code, text = { parts: [] } }: Omit<ReturnStep, 'kind'>, build: Build): Handler {
  const isBare = text.parts.length === 0;
  if (isBare && CLOSING.has(code)) return (x) => x.abort(code);
  if (code === NO_CONTENT || (isBare && code >= 400)) return (x) => x.end(code);
  if (!REDIRECTS.has(code)) return compileText(code, text, build);
  const render = build.value(text);
  return (x) => x.redirect(code, render(x));
}

function compileText(code: number, text: ComplexValue, build: Build): Handler {
  const contentType = build.contentType();
  const fixed = constantText(text);
  if (fixed !== undefined) return (x) => x.send(code, contentType(x), fixed);
  const render = build.value(text);
  return (x) => {
    // The text may use `$status`.
    x.status = x.errorStatus || code;
    x.send(code, contentType(x), render(x));
  };
}

/** nginx's rewrite module: directives that run in file order before the location's handlers. */
export const rewrite = moduleFor<RewriteConfig>()({
  name: 'rewrite',
  summary: 'Rewrites, redirects, conditions and variables of a location.',
  directives,
  answers: ({ steps }) => (steps?.some(({ kind }) => kind === 'return') ? 'return' : undefined),
  enabled: ({ steps }) => steps !== undefined,
  assigns: ({ steps = [] }) => steps.filter((step) => step.kind === 'set'),
  provision: (_config, { prefix }) => ({ prefix }),
  compile: ({ steps = [], log }, { prefix }, build) => ({
    rewrite: steps.map((step) => compileStep(step, { build, log, prefix })),
  }),
  rules: () => import('./rules.ts'),
});

function compileStep(step: Step, compiling: Compiling): Handler {
  switch (step.kind) {
    case 'return':
      return compileReturn(step, compiling.build);
    case 'set':
      return compileSet(step, compiling);
    case 'rewrite':
      return compileRewrite(step, compiling);
    case 'redirect':
      return compileRedirect(step, compiling);
    case 'if':
      return compileIf(step, compiling);
    case 'break':
      return endHere;
  }
}

/** Stays in the location, with the current URI. */
const endHere: Handler = (x) => {
  const { hasReplacedUri = false, relocates = false, hasLeftLocation = false } = x.rewritePhase ?? {};
  x.rewritePhase = {
    isEnded: true,
    hasReplacedUri,
    relocates: false,
    hasLeftLocation: hasLeftLocation || relocates,
  };
};

function compileSet({ variable, value }: SetStep, { build }: Compiling): Handler {
  const render = compileOperand(value, build);
  const assign = build.assign(variable);
  return (x) => assign(x, render(x));
}

function compileIf({ nth, condition }: IfStep, compiling: Compiling): Handler {
  const holds = compileCondition(condition, compiling);
  const enter = compiling.build.block(nth);
  return (x) => (holds(x) ? enter(x) : undefined);
}
