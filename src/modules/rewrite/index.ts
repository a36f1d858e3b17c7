import { moduleFor } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import type { Compiling } from './compiling.ts';
import { compileCondition } from './condition.ts';
import { compileOperand } from './captures.ts';
import type { IfStep, RewriteConfig, SetStep, Step } from './config.ts';
import { directives } from './directives.ts';
import { compileReturn } from './return.ts';
import { compileRedirect, compileRewrite } from './rewrite.ts';

/** nginx's rewrite module: what runs in file order before the location acts. */
export const rewrite = moduleFor<RewriteConfig>()({
  name: 'rewrite',
  directives,
  answers: ({ steps }) => (steps?.some(({ kind }) => kind === 'return') ? 'return' : undefined),
  enabled: ({ steps }) => steps !== undefined,
  assigns: ({ steps = [] }) => steps.filter((step) => step.kind === 'set'),
  provision: (_config, { prefix }) => ({ prefix }),
  compile: ({ steps = [], log }, { prefix }, build) => ({
    rewrite: steps.map((step) => compileStep(step, { build, log, prefix })),
  }),
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

/** The request stays where it is, with the URI that it has now. */
const endHere: Handler = (x) => {
  x.relocate = false;
  x.rewriteEnded = true;
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
