import { exampleNames, exampleText, withoutSuffix } from '../examples.ts';
import { columns } from '../terminal-text.ts';

/** `gw example [NAME]`: a configuration to start from; without a name, which there are. 2: there is none of this name. */
export function example(name: string | undefined, { json }: { readonly json?: boolean }): number {
  const names = exampleNames();
  if (name === undefined) {
    const listed = names.map((each) => ({ name: each, summary: summaryOf(exampleText(each)) }));
    process.stdout.write(
      json === true
        ? `${JSON.stringify(listed, undefined, 2)}\n`
        : columns(listed.map(({ name: each, summary }) => [each, summary])),
    );
    return 0;
  }
  const wanted = withoutSuffix(name);
  if (!names.includes(wanted)) {
    process.stderr.write(`gw: there is no example "${name}"\n  expected ${names.join(', ')}\n`);
    return 2;
  }
  process.stdout.write(exampleText(wanted));
  return 0;
}

/** The first sentence of the comment that an example begins with. */
function summaryOf(text: string): string {
  const comment = /^(?:#.*\n)*/.exec(text)?.[0] ?? '';
  const sentences = comment.replace(/^#\s?/gm, '').replace(/\s+/g, ' ').trim();
  return /^(.*?)\.(?: |$)/.exec(sentences)?.[1] ?? sentences;
}
