import type { LogStep } from '../../http/index.ts';

/** `post_action`: nobody waits for its answer. A subrequest has none of its own. */
export function compilePostAction(uri: string): LogStep {
  return (x) => {
    if (x.main === x) void x.subrequest({ uri, method: x.method, keep: 'head' });
  };
}
