/** `true` where two types are the same at every depth, and `never` elsewhere, so that `satisfies` refuses it. */
export type Same<One, Other> = IsEqual<Frozen<One>, Frozen<Other>> extends true ? true : never;

/** Schemas do not say `readonly`; the handler's types do, everywhere. */
type Frozen<Type> = Type extends readonly (infer Entry)[]
  ? readonly Frozen<Entry>[]
  : Type extends object
    ? { readonly [Member in keyof Type]: Frozen<Type[Member]> }
    : Type;

type IsEqual<One, Other> =
  (<Any>() => Any extends One ? 1 : 2) extends <Any>() => Any extends Other ? 1 : 2 ? true : false;
