import { type DirectiveNode, variablesIn, type Word } from '../../../grammar/index.ts';
import { type CheckedConfig, isSecretVariable, type Problem, type Rule } from '../../contract/index.ts';

const logFormatUnsafe: Rule = {
  id: 'GW906',
  slug: 'log-format-unsafe',
  severity: 'warning',
  summary: 'a JSON log format whose values are not escaped as JSON',
  why: 'A client that sends a quotation mark or a backslash can break the line or add members to it.',
  fix: 'Add "escape=json".',
  bad: { in: 'http', text: `log_format main '{"uri":"$uri","status":$status}';` },
  good: { in: 'http', text: `log_format main escape=json '{"uri":"$uri","status":$status}';` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('log_format')) {
      const [name, second, ...more] = node.args;
      if (!name || !second || !isJson(node)) continue;
      const escape = second.value.startsWith('escape=') ? second : undefined;
      if (escape?.value === 'escape=json' || (escape && more.length === 0)) continue;
      yield {
        at: node,
        message: `"log_format ${name.value}" writes JSON without "escape=json"`,
        fix: { title: 'escape values as JSON', safe: true, edits: [escapeEdit(name, escape)] },
      };
    }
  },
};

/** Tells whether a format begins as an object and has a variable between quotation marks. */
function isJson({ args }: DirectiveNode): boolean {
  const [, ...words] = args;
  const text = words
    .map(({ value }) => value)
    .filter((value) => !value.startsWith('escape='))
    .join('');
  return /^\s*\{/.test(text) && /"\s*:\s*"[^"]*\$/.test(text);
}

function escapeEdit(
  name: Word,
  escape: Word | undefined,
): { readonly span: Word['span']; readonly text: string } {
  if (escape) return { span: escape.span, text: 'escape=json' };
  const { source, end } = name.span;
  return { span: { source, start: end, end }, text: ' escape=json' };
}

/** Variables that may have secrets: logs mask those whose names say so for sure. */
const SECRET_VARIABLE =
  /^(?:cookie_\w*(?:sess|sid|token|auth|jwt)\w*|http_\w*(?:api_?key|token|secret|password)\w*|request_body)$/;

function mayHoldSecret(variable: string): boolean {
  return SECRET_VARIABLE.test(variable) && !isSecretVariable(variable);
}

const secretsLogged: Rule = {
  id: 'GW907',
  slug: 'secrets-logged',
  severity: 'warning',
  summary: 'a log that contains credentials of clients',
  why: 'Anyone who reads the log or a copy of it can act as the clients: sessions and tokens work like passwords.',
  fix: 'Log a value that identifies requests but gives no access, such as "$request_id".',
  bad: { in: 'http', text: `log_format who '$remote_addr $request_body';` },
  good: { in: 'http', text: `log_format who '$remote_addr $request_id';` },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.uses('log_format')) {
      for (const variable of new Set(variablesIn(node).filter(mayHoldSecret))) {
        const word = node.args.find(({ value }) => value.toLowerCase().includes(variable));
        yield { at: word?.span ?? node, message: `"$${variable}" may contain a secret, and is logged` };
      }
    }
  },
};

/** The rules about access logs. */
export const rules: readonly Rule[] = [logFormatUnsafe, secretsLogged];
