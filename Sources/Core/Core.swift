// The module's types stand in files of their own.
