/** A function of an object whose answer is worked out at the first question and kept as long as the object lives. */
export function oncePer<K extends object, V>(answer: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let kept = known.get(key);
    if (!kept) known.set(key, (kept = { value: answer(key) }));
    return kept.value;
  };
}
