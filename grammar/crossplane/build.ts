import type { Statement } from './payload.ts';

/** How built text is indented. */
export interface BuildOptions {
  readonly indent: string;
}

/** Configuration text out of crossplane's directives; reading it again gives the same directives. */
export function buildConfig(statements: readonly Statement[], { indent }: BuildOptions): string {
  const lines: string[] = [];
  addBlock(statements, { lines, indent, depth: 0, line: -1 });
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

interface Into {
  readonly lines: string[];
  readonly indent: string;
  readonly depth: number;
  /** Where the block began. */
  readonly line: number;
}

function addBlock(statements: readonly Statement[], into: Into): void {
  const { lines, indent, depth } = into;
  const margin = indent.repeat(depth);
  let lastLine = into.line;
  for (const statement of statements) {
    const { directive, args, block, comment, line } = statement;
    if (directive === '#') {
      const text = `#${oneLine(comment ?? '')}`;
      // A comment belongs on the line of the directive it was written behind.
      if (line === lastLine && lines.length > 0) lines.push(`${lines.pop() as string} ${text}`);
      else lines.push(margin + text);
      continue;
    }
    const words = [quoted(directive), ...argumentsOf(directive, args)].join(' ');
    lastLine = line;
    if (!block) lines.push(`${margin}${words};`);
    else {
      lines.push(`${margin}${words} {`);
      addBlock(block, { lines, indent, depth: depth + 1, line });
      lines.push(`${margin}}`);
      lastLine = -1;
    }
  }
}

function argumentsOf(directive: string, args: readonly string[]): readonly string[] {
  return directive === 'if' ? [`(${args.map(quoted).join(' ')})`] : args.map(quoted);
}

function oneLine(comment: string): string {
  return comment.replace(/[\r\n]+/g, ' ');
}

/**
 * What a bare word cannot hold: nothing, blanks, `;`, a `{` that no `$` hides, a quote or `#` or `}` at its start, and a
 * backslash that the reader would take away.
 */
const NEEDS_QUOTES = /^$|[\s;]|^["'#}]|(?:^|[^$])\{|\\["'\\trn]|\\$/;

/** A word that is read back as `value`. */
export function quoted(value: string): string {
  if (!NEEDS_QUOTES.test(value)) return value;
  const escaped = value.replace(/\\(?=["'\\trn]|$)|"/g, (character) => `\\${character}`);
  return `"${escaped}"`;
}
