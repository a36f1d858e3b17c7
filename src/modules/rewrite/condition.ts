import type { Exchange } from '../../http/index.ts';
import { compileOperand } from './captures.ts';
import type { Compiling } from './compiling.ts';
import type { Condition } from './config.ts';
import { compileFileTest } from './file-test.ts';
import { compileMatch } from './match.ts';

/** Whether the condition of an `if` holds for a request. */
export function compileCondition(condition: Condition, compiling: Compiling): (x: Exchange) => boolean {
  const { build } = compiling;
  switch (condition.test) {
    case 'true': {
      const read = build.variable(condition.variable);
      return (x) => isTrue(read(x));
    }
    case 'equal': {
      const { negated } = condition;
      const read = build.variable(condition.variable);
      const render = compileOperand(condition.value, build);
      return (x) => ((read(x) ?? '') === render(x)) !== negated;
    }
    case 'match': {
      const { negated } = condition;
      const read = build.variable(condition.variable);
      const matches = compileMatch(condition.regex, compiling);
      return (x) => matches(x, read(x) ?? '') !== negated;
    }
    case 'f':
    case 'd':
    case 'e':
    case 'x':
      return compileFileTest(condition, compiling);
  }
}

/** nginx: everything but the empty string and `0`. */
function isTrue(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0';
}
