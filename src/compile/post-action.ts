import type { LogStep } from '../http/index.ts';

/** `post_action`: asked once an answer is complete, and nobody waits for it. Subrequests have none of their own. */
export function compilePostAction(uri: string | undefined): readonly LogStep[] {
  return uri === undefined ? [] : [(x) => void x.subrequest({ uri, method: x.method, keep: 'head' })];
}
