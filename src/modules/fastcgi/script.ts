import type { VariableDefinition } from '../../contract/index.ts';
import { compileRegex, type Exchange, stateKey } from '../../http/index.ts';
import type { FastcgiConfig } from './config.ts';

/** The path of a request, split into the name of a script and the path after it. */
interface Script {
  readonly uri: string;
  readonly name: string;
  readonly pathInfo: string;
}

type ScriptConfig = Pick<FastcgiConfig, 'splitPathInfo' | 'index'>;

/** Compiles `fastcgi_split_path_info`: the path is split once per request. */
function compileScript({ splitPathInfo, index }: ScriptConfig): (x: Exchange) => Script {
  const regex = splitPathInfo && compileRegex(splitPathInfo);
  const key = stateKey<Script>('fastcgi script');
  return (x) => {
    const known = x.state(key);
    if (known?.uri === x.uri) return known;
    const match = regex?.exec(x.uri);
    const name = match ? (match[1] ?? '') : x.uri;
    const script = {
      uri: x.uri,
      name: name.endsWith('/') ? name + index : name,
      pathInfo: match?.[2] ?? '',
    };
    x.setState(key, script);
    return script;
  };
}

const SCRIPT_NAME =
  'The path of the script: `$uri`, or its part in front of the path info; `fastcgi_index` is appended.';
const PATH_INFO = 'The part of `$uri` behind the script, as `fastcgi_split_path_info` finds it.';

/** Returns the variables of a location. */
export function scriptVariables(config: ScriptConfig): Record<string, VariableDefinition> {
  const scriptOf = compileScript(config);
  return {
    fastcgi_script_name: { summary: SCRIPT_NAME, compile: () => (x) => scriptOf(x).name },
    fastcgi_path_info: { summary: PATH_INFO, compile: () => (x) => scriptOf(x).pathInfo },
  };
}

/** The variables outside of locations that pass requests to a FastCGI program. */
export const variables = scriptVariables({ index: '' });
