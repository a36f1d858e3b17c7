import { directives, variables } from '../../src/lookups.ts';
import type { DirectiveFacts } from '../../src/config/index.ts';

/** `gw why NAME`: what a directive or a variable is. 2: nobody knows the name. */
export function why(name: string, { json }: { readonly json?: boolean }): number {
  const bare = name.replace(/^\$/, '').toLowerCase();
  const found = name.startsWith('$') ? [] : directives().filter((facts) => facts.name === name);
  const read = variables().filter((facts) => isCalled(facts.name, bare));
  if (found.length === 0 && read.length === 0) {
    process.stderr.write(`gw: nothing is called "${name}"\n`);
    return 2;
  }
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ directives: found, variables: read }, undefined, 2)}\n`);
    return 0;
  }
  const texts = [
    ...found.map(directiveText),
    ...read.map(({ name: known, module, summary, settable }) => {
      const change = settable ? ' "set" may change it.' : '';
      return `$${known} (variable of ${module})\n  ${summary}${change}\n`;
    }),
  ];
  process.stdout.write(texts.join('\n'));
  return 0;
}

function isCalled(known: string, name: string): boolean {
  return known.endsWith('*')
    ? name.startsWith(known.slice(0, -1)) && name.length >= known.length
    : known === name;
}

function directiveText(facts: DirectiveFacts): string {
  const { name, module, summary, syntax, contexts, nginx, accepted } = facts;
  const lines = [
    `${name} (directive of ${module})`,
    `  ${summary}`,
    `  syntax:  ${syntax}`,
    `  context: ${contexts.join(', ')}`,
    facts.default !== undefined && `  default: ${facts.default}`,
    facts.repeatable && '  may be repeated',
    facts.secret && '  secret: masked in dumps and logs',
    accepted !== undefined && `  no effect: ${accepted}`,
    nginx !== undefined && `  ${nginx}`,
  ];
  return `${lines.filter(Boolean).join('\n')}\n`;
}
