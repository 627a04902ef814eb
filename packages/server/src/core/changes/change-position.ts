/** How far a reader of changes has come. */
export interface ChangePosition {
  readonly epoch: string;
  /** All records up to this position were passed. */
  readonly position: number;
  /** And so many changes of the record after it. */
  readonly index: number;
}

/** Where a reader begins. A position that was stored apart from its epoch is one of the store's epoch. */
export type ChangeStart = Omit<ChangePosition, 'epoch'> & Partial<ChangePosition>;

const POSITION = /^([0-9a-z]{1,64})-(0|[1-9]\d{0,14})-(0|[1-9]\d{0,8})$/;

/** The text of a position, which is also the ID of the change before it. */
export const positionText = ({ epoch, position, index }: ChangePosition) => `${epoch}-${position}-${index}`;

/** Null where the text is no position. */
export function readPosition(text: string): ChangePosition | null {
  const [, epoch, position, index] = POSITION.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, position: Number(position), index: Number(index) };
}
