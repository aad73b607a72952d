//! One module per on-disk format. This file is only their list.
