import { moduleFor } from '../../contract/index.ts';
import type { Build } from '../../contract/index.ts';
import type { Handler } from '../../http/index.ts';
import type { RewriteConfig, RewriteStep } from './config.ts';
import { directives } from './directives.ts';
import { compileReturn } from './return.ts';

/** nginx's rewrite module: what runs in file order before the location acts. */
export const rewrite = moduleFor<RewriteConfig>()({
  name: 'rewrite',
  directives,
  answers: ({ steps }) => (steps?.some(({ kind }) => kind === 'return') ? 'return' : undefined),
  enabled: ({ steps }) => steps !== undefined,
  compile: ({ steps = [] }, _resources, build) => ({
    rewrite: steps.map((step) => compileStep(step, build)),
  }),
});

function compileStep(step: RewriteStep, build: Build): Handler {
  if (step.kind === 'return') return compileReturn(step, build);
  const render = build.value(step.value);
  const assign = build.assign(step.variable);
  return (x) => assign(x, render(x));
}
