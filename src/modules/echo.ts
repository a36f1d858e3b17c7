import type { Word } from '../../grammar/index.ts';
import { type ArgReader, type ComplexValue, directivesFor, readers } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import type { Getter, Handler } from '../http/index.ts';

/** One line of text: its words, and whether a line feed ends it. */
interface EchoedLine {
  readonly words: readonly ComplexValue[];
  readonly hasLineEnd: boolean;
}

interface EchoConfig {
  readonly lines?: readonly EchoedLine[];
}

/** Reads `[-n] [--] string ...`. */
const echoedLine: ArgReader<EchoedLine> = readers.words(
  { syntax: '[-n] [--] string ...', min: 0, max: Infinity },
  (words, scope) => {
    let hasLineEnd = true;
    let at = 0;
    for (; words[at]?.value.startsWith('-') && words[at]?.value !== '-'; at++) {
      const { value, span } = words[at] as Word;
      if (value === '--') {
        at++;
        break;
      }
      if (value !== '-n') {
        scope.report.emerg(`invalid option "${value}"`, span, 'expected -n, or -- before a text with a dash');
        return undefined;
      }
      hasLineEnd = false;
    }
    return { words: words.slice(at).map((word) => scope.complexValue(word)), hasLineEnd };
  },
);

const directives = directivesFor<EchoConfig>()({
  echo: {
    contexts: ['location', 'location if'],
    args: echoedLine,
    into: 'lines',
    repeat: 'append',
    inherit: 'nameless',
    summary:
      'Responds with a line of text; several of them make a text of several lines. `-n` leaves out the line feed.',
    source: 'echo-nginx-module#echo',
  },
});

/** Responds with lines of text (echo-nginx-module, of which gw has this directive). */
export const echo = moduleFor<EchoConfig>()({
  name: 'echo',
  summary: 'Responds with a text.',
  directives,
  content: 'lines',
  enabled: ({ lines }) => lines !== undefined,
  compile: ({ lines = [] }, _resources, build) => ({ content: compileEcho(lines, build) }),
});

function compileEcho(lines: readonly EchoedLine[], build: Build): Handler {
  const contentType = build.contentType();
  const rendered = lines.map((line) => compileLine(line, build));
  return (x) => x.send(200, contentType(x), rendered.map((render) => render(x)).join(''));
}

function compileLine({ words, hasLineEnd }: EchoedLine, build: Build): Getter {
  const rendered = words.map((word) => build.value(word));
  const end = hasLineEnd ? '\n' : '';
  return (x) => rendered.map((render) => render(x)).join(' ') + end;
}
