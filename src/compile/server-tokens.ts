import { constantText } from '../config/index.ts';
import type { Build, CoreConfig } from '../contract/index.ts';
import type { AnswerRules, Exchange } from '../http/index.ts';

/** What answers of a location say about the gateway (`server_tokens`). */
export function serverTokens(
  { serverTokens: tokens }: Pick<CoreConfig, 'serverTokens'>,
  version: string,
  build: Build,
): Pick<AnswerRules, 'serverToken' | 'serverTokenOf'> {
  if (tokens === 'off') return { serverToken: 'gw' };
  if (typeof tokens === 'string') return { serverToken: `gw/${version}` };
  const fixed = constantText(tokens);
  return fixed === undefined
    ? { serverToken: 'gw', serverTokenOf: withoutCircle('gw', build.value(tokens)) }
    : { serverToken: fixed };
}

/** `render`, but the plain token where a variable leads back to it: the length of a head counts its own `Server` line. */
function withoutCircle(plain: string, render: (x: Exchange) => string): (x: Exchange) => string {
  let isRendering = false;
  return (x) => {
    if (isRendering) return plain;
    isRendering = true;
    try {
      return render(x);
    } finally {
      isRendering = false;
    }
  };
}
