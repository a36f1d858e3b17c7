import { h } from './dom.ts';

/** Comment, quoted text, variable, punctuation, blanks, word: the first that fits. */
const TOKEN =
  /(#.*$)|("(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(\$\{[^}]*\}|\$\w+)|([{};])|(\s+)|([^\s{};"'$]+|\$)/g;

/** Lines of a configuration with their parts told apart. A quoted text that goes over lines is plain in the later ones. */
export function highlight(lines: readonly string[]): readonly (readonly Node[])[] {
  let isFirst = true;
  return lines.map((line) =>
    [...line.matchAll(TOKEN)].map(([text, comment, quoted, variable, mark, blank]) => {
      if (blank !== undefined) return document.createTextNode(text);
      if (comment !== undefined) return piece('comment', text);
      if (mark !== undefined) {
        isFirst = true;
        return piece('mark', text);
      }
      const role = isFirst
        ? 'directive'
        : quoted !== undefined
          ? 'quoted'
          : variable !== undefined
            ? 'variable'
            : 'word';
      isFirst = false;
      return role === 'word' ? document.createTextNode(text) : piece(role, text);
    }),
  );
}

function piece(role: string, text: string): HTMLElement {
  return h('span', { class: `t-${role}` }, text);
}
