import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers } from '../../config/index.ts';
import type { ArgReader } from '../../config/index.ts';
import type { RewriteConfig, RewriteStep } from './config.ts';

const returnStep: ArgReader<RewriteStep> = readers.words(
  { syntax: 'code [text] | code URL | URL', min: 1, max: 2 },
  (words, scope) => {
    const [first, second] = words as [Word, Word?];
    if (!second && /^(https?:\/\/|\$scheme)/.test(first.value)) {
      return { kind: 'return', code: 302, text: scope.complexValue(first) };
    }
    const code = Number(first.value);
    if (!/^\d{1,3}$/.test(first.value)) {
      scope.report.emerg(`invalid return code "${first.value}"`, first.span);
      return undefined;
    }
    return second ? { kind: 'return', code, text: scope.complexValue(second) } : { kind: 'return', code };
  },
);

const setStep: ArgReader<RewriteStep> = readers.words(
  { syntax: '$variable value', min: 2, max: 2 },
  (words, scope) => {
    const [name, value] = words as [Word, Word];
    const variable = /^\$(\w+)$/.exec(name.value)?.[1]?.toLowerCase();
    if (variable === undefined) {
      scope.report.emerg(`invalid variable name "${name.value}"`, name.span);
      return undefined;
    }
    scope.defineVariable(variable, name.span);
    return { kind: 'set', variable, value: scope.complexValue(value) };
  },
);

/** nginx's rewrite module, as far as it does not need `if`. */
export const directives = directivesFor<RewriteConfig>()({
  return: {
    contexts: ['server', 'location', 'server if', 'location if'],
    args: returnStep,
    into: 'steps',
    repeat: 'append',
    inherit: false,
    summary: 'Stops and answers with a status, a text or a redirect; 444 closes the connection.',
    source: 'nginx ngx_http_rewrite_module#return',
  },
  set: {
    contexts: ['server', 'location', 'server if', 'location if'],
    args: setStep,
    into: 'steps',
    repeat: 'append',
    inherit: false,
    summary: 'Gives a variable a value for this request.',
    source: 'nginx ngx_http_rewrite_module#set',
  },
});
